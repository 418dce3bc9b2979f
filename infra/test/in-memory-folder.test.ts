import { chmod, lstat, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { deleteDataFolder } from '../postgres/accessible-folders.ts'
import { linkToMemory } from './in-memory-folder.ts'

describe('linkToMemory', () => {
  let memory: string
  let link: string

  beforeEach(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'memory-folder-'))
    memory = join(folder, 'memory')
    link = join(folder, 'run', 'data')
    await mkdir(memory)
  })
  afterEach(() => rm(join(memory, '..'), { recursive: true, force: true }))

  it('creates a link to a folder in memory, which deleteDataFolder removes together with the link', async () => {
    // mkdtemp gives access to its own user only; PostgreSQL's user needs access too.
    await chmod(join(memory, '..'), 0o755)
    await linkToMemory(link, memory, 1)
    expect((await lstat(link)).isSymbolicLink()).toBe(true)
    await writeFile(join(link, 'file'), '')
    expect(await readdir(memory)).toHaveLength(1)
    await deleteDataFolder(link)
    expect(await readdir(memory)).toEqual([])
    await expect(lstat(link)).rejects.toThrow('ENOENT')
  })

  it('does nothing if memory is low or the memory folder is missing', async () => {
    await linkToMemory(link, memory, Number.MAX_SAFE_INTEGER)
    await linkToMemory(link, join(memory, 'missing'), 1)
    await expect(stat(link)).rejects.toThrow('ENOENT')
    expect(await readdir(memory)).toEqual([])
  })
})
