import { readFileSync, writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'

/**
 * Lowers the CPU priority of a process, by default of this one, to a niceness of 0 to 19. On Linux, also sets the
 * niceness of the session's autogroup (sched(7)), without which niceness has no effect between sessions. Returns false
 * if the process belongs to another user. Only root can raise the priority again.
 */
export function lowerCpuPriority(niceness: number, pid = process.pid): boolean {
  try {
    setPriority(pid, niceness)
  } catch {
    return false
  }
  try {
    // Changes the autogroup only for a session leader, because other sessions contain unrelated processes, such as a
    // shell.
    if (sessionOf(pid) === pid) writeFileSync(`/proc/${pid}/autogroup`, String(niceness))
  } catch {
    // On other systems, or with a kernel without autogroups, niceness alone suffices.
  }
  return true
}

/**
 * Returns the session id of a process. In the status line, the process name may contain spaces and parentheses; state,
 * parent, group and session follow its last parenthesis.
 */
function sessionOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/stat`, 'latin1')
  return Number(status.slice(status.lastIndexOf(')') + 2).split(' ')[3])
}
