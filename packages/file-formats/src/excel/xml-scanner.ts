/** `<` and `>`. */
const OPEN = 60
const CLOSE = 62
const SLASH = 47
const QUOTE = 34
const APOSTROPHE = 39
const EQUALS = 61
const COLON = 58
const BANG = 33
const QUESTION = 63
/** The maximum number of attributes of an element that are found. */
const maxAttributes = 64

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
   * The positions of the attributes that `findAttributes()` found, as four numbers each: start and end of the local
   * name, start and end of the value inside its quotes.
   */
  // The positions are reused for each element, because an object for each would take longer.
  readonly attributePositions = new Int32Array(maxAttributes * 4)
  readonly #handler: XmlHandler
  readonly #maxTokenBytes: number
  /** The position after the last byte in `bytes` that is to be scanned. */
  #end = 0
  #tagEnd = 0
  #depth = 0
  #hasElement = false

  /** Creates a scanner. `maxTokenBytes` is the maximum length of a tag or text. */
  constructor(handler: XmlHandler, maxTokenBytes: number) {
    this.#handler = handler
    this.#maxTokenBytes = maxTokenBytes
  }

  /** Scans the next chunk. Throws BadXml if the XML is invalid. */
  scan(chunk: Buffer): void {
    this.#append(chunk)
    let from = 0
    for (;;) {
      const tokenEnd = this.#scanToken(from)
      if (tokenEnd < 0) break
      from = tokenEnd
    }
    this.bytes.copyWithin(0, from, this.#end)
    this.#end -= from
    if (this.#end > this.#maxTokenBytes) throw new BadXml('a part of it is too long')
  }

  /** Throws BadXml if the XML that was scanned is incomplete. */
  finish(): void {
    if (this.#depth > 0 || !this.#hasElement) throw new BadXml('it ends too early')
  }

  /** True if the current element has this name. */
  is(name: string): boolean {
    return this.equals(this.nameFrom, this.nameTo, name)
  }

  /** True if the bytes at a range of positions are this ASCII text. */
  equals(from: number, to: number, text: string): boolean {
    if (to - from !== text.length) return false
    for (let i = 0; i < text.length; i++) if (this.bytes[from + i] !== text.charCodeAt(i)) return false
    return true
  }

  /** Returns the value of an attribute of the current element, or undefined if it has none. `name` has no prefix. */
  attribute(name: string): string | undefined {
    const count = this.findAttributes()
    for (let i = 0; i < count * 4; i += 4) {
      if (!this.equals(this.attributePositions[i]!, this.attributePositions[i + 1]!, name)) continue
      return this.bytes
        .toString('utf8', this.attributePositions[i + 2], this.attributePositions[i + 3])
        .replace(/&(#x?[0-9a-f]+|\w+);/gi, (_, entity: string) => String.fromCodePoint(codePointOfEntity(entity)))
    }
    return undefined
  }

  /** Finds the attributes of the current element. Sets `attributePositions` and returns the number of attributes. */
  findAttributes(): number {
    const { bytes, attributePositions } = this
    let count = 0
    let position = this.nameTo
    while (position < this.#tagEnd && count < maxAttributes) {
      while (position < this.#tagEnd && (bytes[position]! <= 32 || bytes[position] === SLASH)) position++
      let nameStart = position
      for (; position < this.#tagEnd && bytes[position] !== EQUALS && bytes[position]! > 32; position++)
        if (bytes[position] === COLON) nameStart = position + 1
      const nameTo = position
      while (position < this.#tagEnd && bytes[position] !== QUOTE && bytes[position] !== APOSTROPHE) position++
      const valueStart = position + 1
      const closingQuote = bytes[position]
      for (position++; position < this.#tagEnd && bytes[position] !== closingQuote; position++);
      if (position >= this.#tagEnd) break
      attributePositions[count * 4] = nameStart
      attributePositions[count * 4 + 1] = nameTo
      attributePositions[count * 4 + 2] = valueStart
      attributePositions[count * 4 + 3] = position++
      count++
    }
    return count
  }

  /** Adds a chunk after the bytes that are not yet scanned. */
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
  #scanToken(from: number): number {
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
    if (secondByte === BANG || secondByte === QUESTION) return this.#scanSpecialToken(from)
    let position = from + 1
    for (let quote = 0; ; position++) {
      if (position >= end) return -1
      const byte = bytes[position]!
      if (quote !== 0) quote = byte === quote ? 0 : quote
      else if (byte === CLOSE) break
      else if (byte === QUOTE || byte === APOSTROPHE) quote = byte
    }
    this.#passTag(from, position)
    return position + 1
  }

  /** Passes a tag to the handler. The tag of an empty element is passed as both a start tag and an end tag. */
  #passTag(from: number, to: number): void {
    const { bytes } = this
    const isEndTag = bytes[from + 1] === SLASH
    let nameStart = isEndTag ? from + 2 : from + 1
    let position = nameStart
    for (; position < to && bytes[position]! > 32 && bytes[position] !== SLASH; position++)
      if (bytes[position] === COLON) nameStart = position + 1
    this.nameFrom = nameStart
    this.nameTo = position
    this.#tagEnd = to
    if (!isEndTag) {
      this.#depth++
      this.#hasElement = true
      this.#handler.open(this)
      if (bytes[to - 1] !== SLASH) return
    }
    if (--this.#depth < 0) throw new BadXml('an element is closed that was never opened')
    this.#handler.close(this)
  }

  /**
   * Scans a comment, CDATA section or processing instruction. Returns the position after it, or -1 if it is incomplete.
   * Throws BadXml for a declaration.
   */
  #scanSpecialToken(from: number): number {
    const { bytes } = this
    const start = bytes.toString('latin1', from, Math.min(this.#end, from + cdataOpening.length))
    // Only the first bytes of the opening may be available, so only these are compared.
    const delimiters = specialTokenDelimiters.find(([opening]) => opening.startsWith(start.slice(0, opening.length)))
    if (!delimiters) throw new BadXml('it declares types or entities')
    const [opening, closing] = delimiters
    if (start.length < opening.length) return -1
    const contentStart = from + opening.length
    const contentEnd = bytes.subarray(0, this.#end).indexOf(closing, contentStart)
    if (contentEnd < 0) return -1
    if (opening === cdataOpening && this.#depth > 0) this.#handler.text(this, contentStart, contentEnd, true)
    return contentEnd + closing.length
  }
}

const cdataOpening = '<![CDATA['
const specialTokenDelimiters: readonly (readonly [opening: string, closing: string])[] = [
  ['<!--', '-->'],
  [cdataOpening, ']]>'],
  ['<?', '?>'],
]

const predefinedEntities: Readonly<Record<string, number>> = { amp: 38, lt: 60, gt: 62, quot: 34, apos: 39 }

/**
 * Returns the code point of an entity. `entity` is its name or number without `&` and `;`, such as `amp`, `#38` or
 * `#x26`. Throws BadXml if it is not a character.
 */
export function codePointOfEntity(entity: string): number {
  const codePoint = parseEntity(entity)
  const isSurrogate = (codePoint & 0x1ff800) === 0xd800
  const isCharacter = codePoint > 0 && codePoint <= 0x10ffff && !isSurrogate
  if (!isCharacter) throw new BadXml(`&${entity.slice(0, 20)}; is not a character`)
  return codePoint
}

/** Returns the number of an entity, or 0 or NaN if it has none. */
function parseEntity(entity: string): number {
  if (entity.startsWith('#x')) return Number.parseInt(entity.slice(2), 16)
  if (entity.startsWith('#')) return Number(entity.slice(1))
  return predefinedEntities[entity] ?? 0
}
