"""Qwen-Bailian rows."""


def test_turns_of_a_chat_are_one_session(trace_of):
    def turn(chat, parent, time):
        return {
            "chat_id": chat,
            "parent_chat_id": parent,
            "timestamp": time,
            "input_length": 20,
            "output_length": 3,
            "turn": 1,
            "hash_ids": [1, 2],
        }

    trace = trace_of(turn(7, -1, 0.5), turn(8, 7, 1.5), turn(9, 8, 2.25), turn(10, -1, 3))
    assert trace.session.tolist() == [0, 0, 0, 1]
    assert trace.arrival_s.tolist() == [0.5, 1.5, 2.25, 3]
