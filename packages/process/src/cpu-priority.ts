import { readFileSync, writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'

/**
 * Lets a process, this one by default, give way to others: niceness 0 to 19, on Linux also among the groups that its
 * scheduler makes of sessions (sched(7), autogroup): one that leads a session of its own is nice to nobody otherwise. Answers
 * whether it could; another user's processes cannot be commanded. What has given way stays so, but for root.
 */
export function giveWay(niceness: number, pid = process.pid): boolean {
  try {
    setPriority(pid, niceness)
  } catch {
    return false
  }
  try {
    // A session that others lead holds others, too: a shell, and whatever else was started there.
    if (sessionOf(pid) === pid) writeFileSync(`/proc/${pid}/autogroup`, String(niceness))
  } catch {
    // Another system, or a kernel without such groups, for which the niceness is all there is to say.
  }
  return true
}

/** The name of a process may hold spaces and brackets; what follows its last bracket is state, parent, group, session. */
function sessionOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/stat`, 'latin1')
  return Number(status.slice(status.lastIndexOf(')') + 2).split(' ')[3])
}
