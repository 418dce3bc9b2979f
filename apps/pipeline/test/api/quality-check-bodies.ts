import { randomBytes } from 'node:crypto'

const word = () => randomBytes(6).toString('hex')

/** A check as somebody would send it, with a name and a code of its own. */
export function checkBody(changes: object = {}) {
  const own = word()
  return { name: `Check ${own}`, shortName: 'Check', code: own, query: 'select 1', ...changes }
}

/** Likewise a group. */
export function groupBody(changes: object = {}) {
  return { name: `Group ${word()}`, shortName: 'Group', ...changes }
}
