"""AWS's refusals that moto has no class for, by code."""

from __future__ import annotations

from moto.elbv2.exceptions import ELBClientError


def quota(code: str, limit: int) -> ELBClientError:
    return ELBClientError(code, f"You have reached the limit of {limit}")


def invalid(message: str) -> ELBClientError:
    return ELBClientError("ValidationError", message)


def unusable(message: str) -> ELBClientError:
    return ELBClientError("InvalidConfigurationRequest", message)


def incompatible(message: str) -> ELBClientError:
    return ELBClientError("IncompatibleProtocols", message)


def bad_target(message: str) -> ELBClientError:
    return ELBClientError("InvalidTarget", message)


def in_use(what: str) -> ELBClientError:
    return ELBClientError("ResourceInUse", f"{what} is currently in use by a listener or a rule")
