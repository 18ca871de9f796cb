class _Process:
    waiting_at_fork: bool
    cut_off: bool

def cut_off_reason() -> str | None: ...
