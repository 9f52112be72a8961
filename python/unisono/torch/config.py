# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""config() under the name that scripts on ``unisono.torch`` use; see unisono.config."""

from ..config import config

__all__ = ["config"]
