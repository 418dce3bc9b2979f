import pc from 'picocolors'
import { findAffectedApps } from './affected-apps.ts'
import type { Service } from './supervise-service.ts'
import { findSyntaxError } from './find-syntax-error.ts'
import { watchSources } from './watch-sources.ts'

type RestartOnChange = {
  root: string
  services: readonly Service[]
  /** Warns the person at the terminal. */
  say: (line: string) => void
}

/**
 * Restarts the services that run a source which was saved. After a save with a syntax error the services keep running;
 * the save that corrects it restarts what all saves since then affect.
 */
export const restartOnChange = ({ root, services, say }: RestartOnChange): Disposable => {
  const saved = new Set<string>()
  /** Saved while a syntax error kept the services from restarting. */
  const held = new Set<string>()
  const broken = new Set<string>()
  let savedAt = 0
  let busy = false

  const check = async (files: string[]): Promise<void> => {
    const errors = await Promise.all(files.map((file) => findSyntaxError(root, file)))
    files.forEach((file, index) => (errors[index] ? broken.add(file) : broken.delete(file)))
    const found = errors.filter(Boolean)
    if (found.length > 0) say(`Not restarted, because of a syntax error:\n${found.join('\n\n')}`)
    else if (broken.size > 0) say(`Not restarted: mend the syntax error in ${[...broken].join(', ')}.`)
  }
  const restart = async (files: string[]): Promise<void> => {
    const from = savedAt
    const code = files.filter((file) => !file.endsWith('.sql'))
    if (code.length < files.length) say('A migration changed: press Ctrl-C, then run npm run dev again to apply it.')
    const apps = new Set(code.flatMap((file) => findAffectedApps(root, file)))
    const cause = code.length === 1 ? code[0] : `${code.length} files`
    const affected = services.filter(({ app }) => apps.has(app))
    await Promise.all(
      affected.map(async (service) => {
        if (!(await service.restart())) return
        const seconds = ((performance.now() - from) / 1000).toFixed(1)
        console.log(`${pc.green('●')} ${service.name} restarted in ${seconds} s ${pc.dim(`(${cause})`)}`)
      }),
    )
  }
  const applyChanges = async (): Promise<void> => {
    while (saved.size > 0) {
      const files = [...saved]
      saved.clear()
      for (const file of files) held.add(file)
      await check(files)
      if (broken.size > 0) continue
      const all = [...held]
      held.clear()
      await restart(all)
    }
  }
  return watchSources(root, (files, at) => {
    savedAt = at
    for (const file of files) saved.add(file)
    if (busy) return
    busy = true
    void applyChanges()
      .catch((error: Error) => say(error.message))
      .finally(() => (busy = false))
  })
}
