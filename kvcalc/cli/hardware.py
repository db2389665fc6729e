import typer

app = typer.Typer()
@app.command("list")
def list_()->None: ...
@app.command()
def show()->None: ...
