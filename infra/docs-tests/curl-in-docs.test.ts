import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { root } from '../paths.ts'

const lines = globSync(['*.md', 'docs/**/*.md'], { cwd: root }).flatMap((page) =>
  readFileSync(join(root, page), 'utf8')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => /\bcurl /.test(line))
    .map((line) => ({ page, line })),
)

describe('curl commands in the docs', () => {
  it('do not send files with -d, which removes line breaks', () => {
    expect(lines.filter(({ line }) => / (-d|--data|--data-ascii) ?["']?@/.test(line))).toEqual([])
  })

  it('set the Content-Type text/csv or application/octet-stream when they upload a file', () => {
    const uploads = lines.filter(({ line }) => /\/file[?" ]|\/file$/.test(line))
    expect(uploads.length).toBeGreaterThan(3)
    for (const { line } of uploads) {
      expect(line).toMatch(/-H 'Content-Type: (text\/csv|application\/octet-stream)'/)
      expect(line).toMatch(/--data-binary @| -T /)
    }
  })
})
