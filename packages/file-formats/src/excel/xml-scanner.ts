const OPEN = 60
const CLOSE = 62
const SLASH = 47
const QUOTE = 34
const APOSTROPHE = 39
const EQUALS = 61
const COLON = 58
const BANG = 33
const QUESTION = 63
const attributesKept = 64

/** Receives the events of an XML scan. Positions are indexes into `xml.bytes` and valid until the call returns. */
export interface XmlHandler {
  /**
   * Called for a start tag. The local name is between `nameFrom` and `nameTo`. For an empty element, `close` follows
   * immediately.
   */
  open(xml: XmlScanner): void
  close(xml: XmlScanner): void
  /**
   * Called for characters as written. `literal` is true in a CDATA section, where ampersands have no special meaning.
   */
  text(xml: XmlScanner, from: number, to: number, literal: boolean): void
}

/** The XML is invalid for a workbook's part. */
export class BadXml extends Error {}

/**
 * Scans a workbook's part chunk by chunk, without building a tree or an object per element. Supports the syntax that
 * such parts use: elements, attributes, text, comments, CDATA. Rejects document type and entity declarations, which
 * Office never writes, so entities cannot expand.
 */
export class XmlScanner {
  bytes: Buffer = Buffer.allocUnsafeSlow(0)
  nameFrom = 0
  nameTo = 0
  /**
   * The positions of the attributes that `attributes()` found, as four numbers each: start and end of the local name,
   * start and end of the value inside its quotes.
   */
  readonly places = new Int32Array(attributesKept * 4)
  readonly #handler: XmlHandler
  readonly #longest: number
  #end = 0
  #tagTo = 0
  #depth = 0
  #hasElement = false

  /** Creates a scanner. `longest` is the maximum length of a tag or text in bytes. */
  constructor(handler: XmlHandler, maxTokenBytes: number) {
    this.#handler = handler
    this.#longest = maxTokenBytes
  }

  /** Scans the next chunk. Throws BadXml if the XML is invalid. */
  scan(chunk: Buffer): void {
    this.#append(chunk)
    let from = 0
    for (;;) {
      const next = this.#token(from)
      if (next < 0) break
      from = next
    }
    this.bytes.copyWithin(0, from, this.#end)
    this.#end -= from
    if (this.#end > this.#longest) throw new BadXml('a part of it is too long')
  }

  finish(): void {
    if (this.#depth > 0 || !this.#hasElement) throw new BadXml('it ends too early')
  }

  /** True if the current element has this name. */
  is(name: string): boolean {
    return this.equals(this.nameFrom, this.nameTo, name)
  }

  equals(from: number, to: number, text: string): boolean {
    if (to - from !== text.length) return false
    for (let i = 0; i < text.length; i++) if (this.bytes[from + i] !== text.charCodeAt(i)) return false
    return true
  }

  /** Returns the value of an attribute of the current element. `name` has no prefix. */
  attribute(name: string): string | undefined {
    const count = this.attributes()
    for (let i = 0; i < count * 4; i += 4) {
      if (!this.equals(this.places[i]!, this.places[i + 1]!, name)) continue
      return this.bytes
        .toString('utf8', this.places[i + 2], this.places[i + 3])
        .replace(/&(#x?[0-9a-f]+|\w+);/gi, (_, entity: string) => String.fromCodePoint(pointOf(entity)))
    }
    return undefined
  }

  /** Finds the attributes of the current element. Returns their number. */
  attributes(): number {
    const { bytes, places: attributePositions } = this
    let count = 0
    let position = this.nameTo
    while (position < this.#tagTo && count < attributesKept) {
      while (position < this.#tagTo && (bytes[position]! <= 32 || bytes[position] === SLASH)) position++
      let nameStart = position
      for (; position < this.#tagTo && bytes[position] !== EQUALS && bytes[position]! > 32; position++)
        if (bytes[position] === COLON) nameStart = position + 1
      const nameTo = position
      while (position < this.#tagTo && bytes[position] !== QUOTE && bytes[position] !== APOSTROPHE) position++
      const valueStart = position + 1
      const closingQuote = bytes[position]
      for (position++; position < this.#tagTo && bytes[position] !== closingQuote; position++);
      if (position >= this.#tagTo) break
      attributePositions[count * 4] = nameStart
      attributePositions[count * 4 + 1] = nameTo
      attributePositions[count * 4 + 2] = valueStart
      attributePositions[count * 4 + 3] = position++
      count++
    }
    return count
  }

  #append(chunk: Buffer): void {
    const length = this.#end + chunk.length
    if (length > this.bytes.length) {
      const bytes = Buffer.allocUnsafeSlow(length * 2)
      this.bytes.copy(bytes, 0, 0, this.#end)
      this.bytes = bytes
    }
    chunk.copy(this.bytes, this.#end)
    this.#end = length
  }

  /** Scans one tag, text, comment or CDATA section. Returns the position after it, or -1 if it is incomplete. */
  #token(from: number): number {
    const { bytes } = this
    const end = this.#end
    if (from === end) return -1
    if (bytes[from] !== OPEN) {
      let position = from
      while (position < end && bytes[position] !== OPEN) position++
      if (position === end) return -1
      if (this.#depth > 0) this.#handler.text(this, from, position, false)
      return position
    }
    const secondByte = bytes[from + 1]
    if (secondByte === BANG || secondByte === QUESTION) return this.#special(from)
    let position = from + 1
    for (let quote = 0; ; position++) {
      if (position >= end) return -1
      const byte = bytes[position]!
      if (quote !== 0) quote = byte === quote ? 0 : quote
      else if (byte === CLOSE) break
      else if (byte === QUOTE || byte === APOSTROPHE) quote = byte
    }
    this.#tag(from, position)
    return position + 1
  }

  /** Passes a tag to the handler. The tag of an empty element is passed as both a start tag and an end tag. */
  #tag(from: number, to: number): void {
    const { bytes } = this
    const isEndTag = bytes[from + 1] === SLASH
    let nameStart = isEndTag ? from + 2 : from + 1
    let position = nameStart
    for (; position < to && bytes[position]! > 32 && bytes[position] !== SLASH; position++)
      if (bytes[position] === COLON) nameStart = position + 1
    this.nameFrom = nameStart
    this.nameTo = position
    this.#tagTo = to
    if (!isEndTag) {
      this.#depth++
      this.#hasElement = true
      this.#handler.open(this)
      if (bytes[to - 1] !== SLASH) return
    }
    if (--this.#depth < 0) throw new BadXml('an element is closed that was never opened')
    this.#handler.close(this)
  }

  #special(from: number): number {
    const { bytes } = this
    const start = bytes.toString('latin1', from, Math.min(this.#end, from + 9))
    const [opening, closing] = ['<!--|-->', '<![CDATA[|]]>', '<?|?>']
      .map((pair) => pair.split('|'))
      .find(([open]) => open!.startsWith(start.slice(0, open!.length))) ?? ['', '']
    if (!opening || !closing) throw new BadXml('it declares types or entities')
    if (start.length < opening.length) return -1
    const position = bytes.subarray(0, this.#end).indexOf(closing, from + opening.length)
    if (position < 0) return -1
    if (opening === '<![CDATA[' && this.#depth > 0) this.#handler.text(this, from + opening.length, position, true)
    return position + closing.length
  }
}

const predefinedEntities: Readonly<Record<string, number>> = { amp: 38, lt: 60, gt: 62, quot: 34, apos: 39 }

/** Returns the code point of an entity. `entity` is its name or number without `&` and `;`. */
export function pointOf(entity: string): number {
  const point = entity.startsWith('#x')
    ? Number.parseInt(entity.slice(2), 16)
    : entity.startsWith('#')
      ? Number(entity.slice(1))
      : (predefinedEntities[entity] ?? 0)
  const isCharacter = point > 0 && point <= 0x10ffff && (point & 0x1ff800) !== 0xd800
  if (!isCharacter) throw new BadXml(`&${entity.slice(0, 20)}; is not a character`)
  return point
}
