# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
"""The torch.distributed backend ``unisono``; torch enters through process_group.py.

Importing this package imports nothing, because a torch without torch.distributed has no backend.
"""
