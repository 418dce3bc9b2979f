import { SaxesParser } from 'saxes'
import { SourceProblem } from '@sluice/row-stream'

/** An XML element in a store's response. Attributes are left out, except the one that marks encoded names. */
export interface XmlElement {
  /** The name without a namespace prefix. */
  name: string
  text: string
  children: XmlElement[]
  /** True if the element's text is percent-encoded. */
  isEncoded: boolean
}

const maxXmlDepth = 20
/** The maximum number of elements. A page has at most 1,000 objects with about ten elements each. */
const maxElements = 200_000

/**
 * Parses the XML response of an object store. Rejects document type declarations, so that entities cannot expand.
 * Throws `SourceProblem` OTHER_PROTOCOL, which names the host, for any other text.
 */
export function parseXml(text: string, host: string): XmlElement {
  // An element around the root, so that each element has a parent.
  const document = createElement('')
  const openElements = [document]
  let elementCount = 0
  const throwNotStore = (): never => {
    throw new SourceProblem('OTHER_PROTOCOL', `The server at ${host} is not an object store. Check the endpoint.`)
  }
  const addText = (text: string): void => {
    openElements.at(-1)!.text += text
  }
  const parser = new SaxesParser()
  parser.on('error', throwNotStore)
  parser.on('doctype', throwNotStore)
  parser.on('text', addText)
  parser.on('cdata', addText)
  parser.on('opentag', ({ name, attributes }) => {
    const element = createElement(name.slice(name.indexOf(':') + 1), attributes['Encoded'] === 'true')
    openElements.at(-1)!.children.push(element)
    openElements.push(element)
    elementCount += 1
    if (elementCount > maxElements || openElements.length > maxXmlDepth) throwNotStore()
  })
  parser.on('closetag', () => void openElements.pop())
  parser.write(text).close()
  return document.children[0]!
}

const createElement = (name: string, isEncoded = false): XmlElement => ({ name, text: '', children: [], isEncoded })

/** Returns the text of the first child element with this name, or an empty string if it is missing. */
export const getChildText = (parent: XmlElement, name: string): string => findChild(parent, name)?.text ?? ''

export const findChild = (parent: XmlElement, name: string): XmlElement | undefined =>
  parent.children.find((child) => child.name === name)
