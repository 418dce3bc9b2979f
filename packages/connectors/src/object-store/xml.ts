import { SaxesParser } from 'saxes'
import { SourceProblem } from '@sluice/row-stream'

/** An element of a store's response. Only the attribute that concerns the encoding of names is kept. */
export interface XmlElement {
  /** Without a namespace prefix. */
  name: string
  text: string
  children: XmlElement[]
  /** Whether the element declares that its text is percent-encoded. */
  encoded: boolean
}

const maxDepth = 20
/** Requests ask for pages of a thousand objects, which have about ten elements each. */
const maxElements = 200_000

/**
 * Parses the XML that object stores return. It refuses document type declarations, so entities cannot expand. Throws
 * SourceProblem OTHER_PROTOCOL for anything else; `host` is the responding host.
 */
export function parseXml(text: string, host: string): XmlElement {
  const document = createElement('')
  const open = [document]
  let elements = 0
  const refuse = (): never => {
    throw new SourceProblem('OTHER_PROTOCOL', `The server at ${host} is not an object store. Check the endpoint.`)
  }
  const addText = (part: string) => void (open.at(-1)!.text += part)
  const parser = new SaxesParser()
  parser.on('error', refuse)
  parser.on('doctype', refuse)
  parser.on('text', addText)
  parser.on('cdata', addText)
  parser.on('opentag', ({ name, attributes }) => {
    const element = createElement(name.slice(name.indexOf(':') + 1), attributes['Encoded'] === 'true')
    open.at(-1)!.children.push(element)
    open.push(element)
    elements += 1
    if (elements > maxElements || open.length > maxDepth) refuse()
  })
  parser.on('closetag', () => void open.pop())
  parser.write(text).close()
  return document.children[0]!
}

const createElement = (name: string, encoded = false): XmlElement => ({ name, text: '', children: [], encoded })

/** Returns the text of the first child with that name; empty if the child does not exist. */
export const textOf = (of: XmlElement, name: string): string => childOf(of, name)?.text ?? ''

export const childOf = (of: XmlElement, name: string): XmlElement | undefined =>
  of.children.find((child) => child.name === name)
