from collections.abc import Sequence
from cyclopts import App
from p2p_registry.errors import CredentialFileError as CredentialFileError, InvalidBackendUrlError as InvalidBackendUrlError, InvalidIdentityError as InvalidIdentityError, P2PRegistryError as P2PRegistryError, SettingError as SettingError
from typing import Literal

app: App

def completion(shell: Literal['bash', 'fish', 'zsh'], /) -> None: ...
def run(arguments: Sequence[str]) -> int: ...
