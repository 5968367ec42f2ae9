"""AWS's errors for which moto has no class."""

from __future__ import annotations

from moto.elbv2.exceptions import ELBClientError


def quota(code: str, limit: int) -> ELBClientError:
    """Return the error for a request beyond a quota. `code`: AWS's code, such as TooManyListeners."""
    return ELBClientError(code, f"You have reached the limit of {limit}")


def invalid(message: str) -> ELBClientError:
    """Return a ValidationError."""
    return ELBClientError("ValidationError", message)


def unusable(message: str) -> ELBClientError:
    """Return an InvalidConfigurationRequest."""
    return ELBClientError("InvalidConfigurationRequest", message)


def incompatible(message: str) -> ELBClientError:
    """Return an IncompatibleProtocols."""
    return ELBClientError("IncompatibleProtocols", message)


def bad_target(message: str) -> ELBClientError:
    """Return an InvalidTarget."""
    return ELBClientError("InvalidTarget", message)


def in_use(what: str) -> ELBClientError:
    """Return a ResourceInUse."""
    return ELBClientError("ResourceInUse", f"{what} is currently in use by a listener or a rule")
