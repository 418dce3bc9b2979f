import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { root } from '../paths.ts'

const pages = globSync(['*.md', 'docs/**/*.md', 'bench/*/README.md', 'packages/*/README.md'], { cwd: root })
const textOf = (page: string): string => readFileSync(join(root, page), 'utf8')

/** Returns the anchors of a page: its headings as GitHub spells them, and `<a id>` elements. */
function anchorsOf(page: string): Set<string> {
  const text = textOf(page)
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{Letter}\p{Number}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )
  return new Set([...headings, ...[...text.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id)])
}

/** Returns the relative links of a page that lead to no file or to no heading of the page that they name. */
function brokenLinks(page: string): string[] {
  const links = [...textOf(page).matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)].map(([, link = '']) => link)
  return links.filter((link) => {
    const [path = '', anchor] = link.split('#')
    const target = path === '' ? page : join(dirname(page), path)
    if (!existsSync(join(root, target))) return true
    return anchor !== undefined && target.endsWith('.md') && !anchorsOf(target).has(anchor)
  })
}

describe('the links in the docs', () => {
  it.each(pages)('of %s lead to files and headings that exist', (page) => {
    expect(brokenLinks(page)).toEqual([])
  })
})
