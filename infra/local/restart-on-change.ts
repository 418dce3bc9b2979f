import pc from 'picocolors'
import { findAffectedApps } from '../bundle/affected-apps.ts'
import type { Service } from './supervise-service.ts'
import { findSyntaxError } from './find-syntax-error.ts'
import { watchSources } from './watch-sources.ts'

type RestartOnChange = {
  root: string
  services: readonly Service[]
  /** Prints a line on the terminal. */
  printWarning: (line: string) => void
}

/**
 * Restarts the services that run a source which was saved. After a save with a syntax error the services keep running;
 * the save that corrects it restarts what all saves since then affect.
 */
export const restartOnChange = ({ root, services, printWarning }: RestartOnChange): Disposable => {
  const saved = new Set<string>()
  /** Sources that were saved while a syntax error prevented the restart. */
  const pending = new Set<string>()
  const filesWithErrors = new Set<string>()
  let savedAt = 0
  let isApplying = false

  const reportSyntaxErrors = async (files: string[]): Promise<void> => {
    const errors = await Promise.all(files.map((file) => findSyntaxError(root, file)))
    files.forEach((file, index) => (errors[index] ? filesWithErrors.add(file) : filesWithErrors.delete(file)))
    const found = errors.filter(Boolean)
    if (found.length > 0) printWarning(`Not restarted, because of a syntax error:\n${found.join('\n\n')}`)
    else if (filesWithErrors.size > 0)
      printWarning(`Not restarted. Fix the syntax error in ${[...filesWithErrors].join(', ')}.`)
  }
  const restart = async (files: string[]): Promise<void> => {
    const from = savedAt
    const code = files.filter((file) => !file.endsWith('.sql'))
    if (code.length < files.length)
      printWarning('A migration changed. Press Ctrl-C and run "npm run dev" again to apply it.')
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
      for (const file of files) pending.add(file)
      await reportSyntaxErrors(files)
      if (filesWithErrors.size > 0) continue
      const all = [...pending]
      pending.clear()
      await restart(all)
    }
  }
  return watchSources(root, (files, at) => {
    savedAt = at
    for (const file of files) saved.add(file)
    if (isApplying) return
    isApplying = true
    void applyChanges()
      .catch((error: Error) => printWarning(error.message))
      .finally(() => (isApplying = false))
  })
}
