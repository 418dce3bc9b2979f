import { type FSWatcher, readdirSync, statSync, watch } from 'node:fs'
import { join } from 'node:path'

const FOLDERS = ['apps', 'packages']

/** Changes within this time are reported together, because editors and git write several files in several steps. */
const DEBOUNCE_MS = 50

const SOURCE = /\.(ts|css|txt|wasm|sql)$/
const IGNORED_FOLDER = /^(node_modules|test|\..*)$/

const isSource = (file: string): boolean => SOURCE.test(file) && !file.endsWith('.test.ts')

/**
 * Calls `onChange` with the sources below apps/ and packages/ that were written or removed, relative to `root` with
 * slashes, and the time of the first change (performance.now()). Each folder has a watcher of its own: the recursive
 * one of Node on Linux loses a file that an editor replaces by another.
 */
export const watchSources = (root: string, onChange: (files: string[], changedAt: number) => void): Disposable => {
  const watchers = new Map<string, FSWatcher>()
  const changed = new Set<string>()
  let changedAt = 0
  let timer: NodeJS.Timeout | undefined

  const flush = (): void => {
    const files = [...changed]
    changed.clear()
    onChange(files, changedAt)
  }
  const report = (file: string): void => {
    if (changed.size === 0) changedAt = performance.now()
    changed.add(file)
    clearTimeout(timer)
    timer = setTimeout(flush, DEBOUNCE_MS)
  }
  const unwatch = (folder: string): void => {
    for (const [path, watcher] of watchers) {
      if (path !== folder && !path.startsWith(`${folder}/`)) continue
      watcher.close()
      watchers.delete(path)
    }
  }
  const onEvent = (event: string, file: string, name: string): void => {
    if (isSource(file)) report(file)
    else if (event === 'rename' && !IGNORED_FOLDER.test(name)) {
      // A folder was created, removed or replaced.
      unwatch(file)
      if (isFolder(join(root, file))) for (const found of watchFolder(file)) report(found)
    }
  }
  /** Watches a folder and its subfolders. Returns the sources in them. */
  const watchFolder = (folder: string): string[] => {
    const watcher = watch(join(root, folder), (event, name) => {
      if (name) onEvent(event, `${folder}/${name}`, name)
    })
    // On Windows, removing a watched folder emits an error.
    watcher.on('error', () => unwatch(folder))
    watchers.set(folder, watcher)
    return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
      const path = `${folder}/${entry.name}`
      if (entry.isDirectory()) return IGNORED_FOLDER.test(entry.name) ? [] : watchFolder(path)
      return isSource(path) ? [path] : []
    })
  }
  for (const folder of FOLDERS) watchFolder(folder)
  return {
    [Symbol.dispose]() {
      clearTimeout(timer)
      for (const folder of FOLDERS) unwatch(folder)
    },
  }
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
