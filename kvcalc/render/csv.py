"""CSV: the page's main table in SI numbers, the unit in the key."""

import csv
import io

from kvcalc.tables.page import Page, Rows


def render(page: Page) -> str:
    """The main table, one line a row, under the keys of its columns."""
    table, stream = page.main(), io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    if isinstance(table, Rows):
        writer.writerow(table.keys)
        writer.writerows(table.rows)
        return stream.getvalue()
    writer.writerow(column.key for column in table.columns)
    writer.writerows([cell.raw for cell in row] for row in table.rows)
    return stream.getvalue()
