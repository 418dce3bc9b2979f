/** What a statement is answered with. `count` is of rows that were changed. */
export interface Result {
  columns: readonly [name: string, type: 'int' | 'bigint' | 'bit' | 'float' | 'text' | `decimal(${number},${number})`][]
  rows: readonly (readonly (string | number | boolean | null)[])[]
}

export interface Refusal {
  number: number
  message: string
  line?: number
}

/** CUT: the connection ends without a word. */
export type Answer = Result | Refusal | { count: number } | 'CUT' | undefined

const done = (token: number, status: number, count = 0): Buffer => {
  const bytes = Buffer.alloc(13)
  bytes[0] = token
  bytes.writeUInt16LE(status, 1)
  bytes.writeBigUInt64LE(BigInt(count), 5)
  return bytes
}

const text = (value: string, lengthBytes: 1 | 2): Buffer => {
  const length = Buffer.alloc(lengthBytes)
  length.writeUIntLE(value.length, 0, lengthBytes)
  return Buffer.concat([length, Buffer.from(value, 'utf16le')])
}

function withLength(token: number, body: Buffer): Buffer {
  const head = Buffer.from([token, 0, 0])
  head.writeUInt16LE(body.length, 1)
  return Buffer.concat([head, body])
}

export function refusalToken({ number, message, line = 1 }: Refusal): Buffer {
  const head = Buffer.alloc(6)
  head.writeInt32LE(number, 0)
  head[4] = 1
  head[5] = 16
  const at = Buffer.alloc(4)
  at.writeInt32LE(line)
  return withLength(0xaa, Buffer.concat([head, text(message, 2), text('stand-in', 1), text('', 1), at]))
}

/** A change of the connection, such as that a transaction has begun. */
export const changeToken = (kind: number, now: Buffer, before: Buffer): Buffer =>
  withLength(0xe3, Buffer.concat([Buffer.from([kind, now.length]), now, Buffer.from([before.length]), before]))

export function loginToken(): Buffer {
  const version = Buffer.from([1, 0x74, 0, 0, 4])
  const collation = changeToken(7, Buffer.from([9, 4, 0xd0, 0, 0x34]), Buffer.alloc(0))
  return Buffer.concat([
    collation,
    withLength(0xad, Buffer.concat([version, text('stand-in', 1), Buffer.from([16, 0, 0, 0])])),
    done(0xfd, 0),
  ])
}

function typeInfo(type: string): Buffer {
  if (type === 'int') return Buffer.from([0x26, 4])
  if (type === 'bigint') return Buffer.from([0x26, 8])
  if (type === 'bit') return Buffer.from([0x68, 1])
  if (type === 'float') return Buffer.from([0x6d, 8])
  if (type === 'text') return Buffer.from([0xe7, 0xff, 0xff, 9, 4, 0xd0, 0, 0x34])
  const [, precision, scale] = /\((\d+),(\d+)\)/.exec(type)!
  return Buffer.from([0x6a, 17, Number(precision), Number(scale)])
}

function cell(value: string | number | boolean | null, type: string): Buffer {
  if (type === 'text') {
    if (value === null) return Buffer.alloc(8, 0xff)
    const bytes = Buffer.from(String(value), 'utf16le')
    const lengths = Buffer.alloc(12)
    lengths.writeBigUInt64LE(0xffff_ffff_ffff_fffen)
    lengths.writeUInt32LE(bytes.length, 8)
    return Buffer.concat(bytes.length > 0 ? [lengths, bytes, Buffer.alloc(4)] : [lengths])
  }
  if (value === null) return Buffer.from([0])
  if (type === 'bit') return Buffer.from([1, value ? 1 : 0])
  const bytes = Buffer.alloc(type === 'int' ? 4 : type.startsWith('decimal') ? 17 : 8)
  if (type === 'int') bytes.writeInt32LE(Number(value))
  else if (type === 'bigint') bytes.writeBigInt64LE(BigInt(value))
  else if (type === 'float') bytes.writeDoubleLE(Number(value))
  else {
    const whole = BigInt(String(value).replace('.', '').replace('-', ''))
    bytes[0] = String(value).startsWith('-') ? 0 : 1
    bytes.writeBigUInt64LE(BigInt.asUintN(64, whole), 1)
    bytes.writeBigUInt64LE(whole >> 64n, 9)
  }
  return Buffer.concat([Buffer.from([bytes.length]), bytes])
}

function resultTokens({ columns, rows }: Result): Buffer[] {
  const head = Buffer.from([0x81, columns.length, 0])
  const described = columns.map(([name, type]) =>
    Buffer.concat([Buffer.from([0, 0, 0, 0, 1, 0]), typeInfo(type), text(name, 1)]),
  )
  const each = rows.map((row) =>
    Buffer.concat([Buffer.from([0xd1]), ...row.map((value, index) => cell(value, columns[index]![1]))]),
  )
  return [head, ...described, ...each]
}

/** The answer of a batch, or of a procedure that runs one. */
export function answerTokens(answer: Exclude<Answer, 'CUT'>, procedure: boolean): Buffer {
  const [inside, end] = procedure ? [0xff, 0xfe] : [0xfd, 0xfd]
  if (answer && 'number' in answer) return Buffer.concat([refusalToken(answer), done(end, 2)])
  const counted = 0x10
  if (answer && 'columns' in answer) {
    const parts = resultTokens(answer)
    if (!procedure) return Buffer.concat([...parts, done(end, counted, answer.rows.length)])
    return Buffer.concat([...parts, done(inside, counted | 1, answer.rows.length), done(end, 0)])
  }
  return done(end, answer ? counted : 0, answer?.count ?? 0)
}

export const attentionToken = (): Buffer => done(0xfd, 0x20)
