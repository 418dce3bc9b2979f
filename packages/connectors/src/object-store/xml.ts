import { SourceProblem } from '@sluice/row-stream'

/** An element of a store's response. Only the attribute that concerns the encoding of names is kept. */
export interface XmlElement {
  name: string
  text: string
  children: XmlElement[]
  /** Whether the element declares that its text is percent-encoded. */
  encoded: boolean
}

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }
const deepest = 20
/** Requests ask for pages of a thousand objects, which have about ten elements each. */
const mostElements = 200_000

/**
 * Parses the XML that object stores return: elements, texts, comments. It refuses document type declarations, so entities
 * cannot expand. Throws SourceProblem OTHER_PROTOCOL for anything else; `host` is the responding host.
 */
export function parseXml(text: string, host: string): XmlElement {
  const root = element('')
  const open: XmlElement[] = [root]
  let elements = 0
  // The expression is bounded, so that no text makes it backtrack.
  const tokens =
    /<!--[\s\S]*?-->|<\?[\s\S]*?\?>|<!\[CDATA\[([\s\S]*?)\]\]>|<(\/?)([^\s/<>!?]{1,100})([^<>]{0,2000}?)(\/?)>|([^<]+)|(<)/g
  for (const [, literal, closing, name, attributes, empty, plain, astray] of text.matchAll(tokens)) {
    const current = open.at(-1)!
    if (astray !== undefined) throw notXml(host)
    if (literal !== undefined) current.text += literal
    else if (plain !== undefined) current.text += decoded(plain)
    else if (closing) {
      if (open.length === 1 || local(name!) !== current.name) throw notXml(host)
      open.pop()
    } else if (name !== undefined) {
      if (++elements > mostElements) throw notXml(host)
      const made = element(local(name), /\sEncoded=["']true["']/.test(attributes!))
      current.children.push(made)
      if (!empty) open.push(made)
      if (open.length > deepest) throw notXml(host)
    }
  }
  const [top] = root.children
  if (open.length !== 1 || root.children.length !== 1 || root.text.trim() !== '') throw notXml(host)
  return top!
}

/** Returns the text of the first child with that name; empty if the child does not exist. */
export const textOf = (of: XmlElement, name: string): string => childOf(of, name)?.text ?? ''

export const childOf = (of: XmlElement, name: string): XmlElement | undefined =>
  of.children.find((child) => child.name === name)

const element = (name: string, encoded = false): XmlElement => ({ name, text: '', children: [], encoded })

const local = (name: string): string => name.slice(name.indexOf(':') + 1)

function decoded(text: string): string {
  return text.replaceAll(/&(#x[\da-f]{1,6}|#\d{1,7}|\w{2,4});/gi, (whole, entity: string) => {
    if (!entity.startsWith('#')) return entities[entity] ?? whole
    const code = entity[1] === 'x' || entity[1] === 'X' ? Number.parseInt(entity.slice(2), 16) : Number(entity.slice(1))
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole
  })
}

const notXml = (host: string): SourceProblem =>
  new SourceProblem('OTHER_PROTOCOL', `What answers at ${host} is no object store. Check the endpoint.`)
