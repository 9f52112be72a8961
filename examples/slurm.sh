#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the unisono authors
# SPDX-License-Identifier: Apache-2.0
# Two nodes with four ranks each under Slurm: sbatch examples/slurm.sh
# A pattern to adapt; it has not been run on a cluster. Two processes with srun's variables and a
# common folder have been.
#SBATCH --job-name=unisono
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=4
#SBATCH --time=00:10:00
set -euo pipefail

# srun tells each process its rank. Where rank 0 listens, and the key of the job, are in a file that
# only this user may read, in a folder that all nodes see.
export UNISONO_JOB_DIR=${UNISONO_JOB_DIR:-$HOME/.unisono}
mkdir -p "$UNISONO_JOB_DIR"
chmod 700 "$UNISONO_JOB_DIR"
export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK

srun python examples/torch/mnist.py
