#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# slurm_up.sh FOLDER: starts a Slurm of this machine alone, as root, with its files in FOLDER.
set -euo pipefail
folder=$1
mkdir -p "$folder"/{state,spool} /run/munge
chown munge: /run/munge; chmod 755 /run/munge
pgrep -x munged >/dev/null || runuser -u munge -- /usr/sbin/munged --force
name=$(hostname -s)
cat >"$folder/slurm.conf" <<CONF
ClusterName=stretto
SlurmctldHost=$name(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ReturnToService=2
MpiDefault=none
SlurmdParameters=config_overrides
NodeName=$name NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:8
CONF
export SLURM_CONF=$folder/slurm.conf
slurmctld -c
slurmd -c
for ((i = 0; i < 100; ++i)); do
    if sinfo -h -o %T 2>/dev/null | grep -q idle; then exit 0; fi
    sleep 0.2
done
cat "$folder"/slurmctld.log "$folder"/slurmd.log >&2
exit 1
