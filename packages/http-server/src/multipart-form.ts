import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { Busboy, type BusboyHeaders } from '@fastify/busboy'
import { createContractChecker, type Contract, type FieldViolation } from '@sluice/contracts'
import { problems } from './problem.ts'

/** A multipart form. Its fields have been read, and its file has started to arrive. */
export interface MultipartForm<Fields> {
  fields: Fields
  file: {
    /** The file name without folders, or undefined if the client sends none. */
    name: string | undefined
    /** The file's bytes. The caller must read them to the end. Errors of the stream are problems. */
    stream: Readable
  }

  /** Waits for the end of the form after the file was read. Throws a problem if anything follows the file. */
  waitForEnd(): Promise<void>
  /** Stops reading the request. Its unread bytes stay in the connection. */
  abandon(): void
}

/** Limits for the form. Sizes are in bytes. */
const formLimits = {
  fieldSize: 64 * 1024,
  fieldNameSize: 100,
  fields: 50,
  files: 1,
  parts: 52,
  headerPairs: 20,
  headerSize: 8192,
}
const fieldsTimeoutMs = 30_000

/**
 * Reads the fields of a `multipart/form-data` body and stops at the start of the part `file`, which must follow all
 * fields. Only the fields are in memory. Throws problems: 415 for another media type, 400 for a malformed form.
 */
export async function readForm<Fields>(
  request: IncomingMessage,
  contract: Contract<Fields>,
): Promise<MultipartForm<Fields>> {
  const parser = createParser(request)
  const fieldTexts = new Map<string, string>()
  const violations: FieldViolation[] = []
  const fileStarted = Promise.withResolvers<{ name: string | undefined; stream: Readable } | undefined>()
  const formEnded = Promise.withResolvers<void>()
  // Prevents unhandled rejections if the handler no longer awaits these promises.
  formEnded.promise.catch(() => {})
  fileStarted.promise.catch(() => {})
  let file: Readable | undefined

  const fail = (error: Error) => {
    fileStarted.reject(error)
    formEnded.reject(error)
    abandon()
    file?.destroy(error)
  }
  const failIncomplete = () =>
    fail(problems.unreadableBody('The form ended before its last part, and nothing was stored. Send it again.'))
  const refuse = (pointer: string, detail: string) => fail(problems.malformed([{ pointer, detail }]))

  parser.on('field', (name, value, isNameTruncated, isValueTruncated) => {
    if (file) return refuse(`/${name}`, 'comes after the file: send all fields before it')
    if (isNameTruncated) return refuse('/', `has a field whose name is longer than ${formLimits.fieldNameSize} bytes`)
    if (isValueTruncated)
      violations.push({ pointer: `/${name}`, detail: `must have at most ${formLimits.fieldSize} bytes` })
    else if (fieldTexts.has(name)) violations.push({ pointer: `/${name}`, detail: 'occurs twice: send it once' })
    else if (value.includes('\0'))
      violations.push({ pointer: `/${name}`, detail: 'must not contain the NUL character' })
    else fieldTexts.set(name, value)
  })
  parser.on('file', (name, stream, fileName) => {
    // The stream's reader handles its errors. Without a reader, an error must not end the process.
    stream.on('error', () => {})
    if (name !== 'file') return refuse(`/${name}`, 'is not known here: send the file in the part called file')
    file = stream
    fileStarted.resolve({ name: sanitizeFileName(fileName), stream })
  })
  for (const limit of ['filesLimit', 'partsLimit', 'fieldsLimit'] as const)
    parser.on(limit, () => refuse('/', limit === 'filesLimit' ? 'has more than one file' : 'has too many fields'))
  parser.once('error', failIncomplete)
  parser.once('finish', () => {
    fileStarted.resolve(undefined)
    formEnded.resolve()
  })
  request.once('close', () => request.complete || failIncomplete())
  request.pipe(parser)

  const fieldsTimer = setTimeout(
    () => fail(problems.unreadableBody('The fields of the form did not arrive in time. Send the form again.')),
    fieldsTimeoutMs,
  )
  try {
    const upload = await fileStarted.promise
    const fields = parseFields(contract, fieldTexts, violations, upload !== undefined)
    return { fields, file: upload!, waitForEnd: () => formEnded.promise, abandon }
  } catch (error) {
    abandon()
    throw error
  } finally {
    clearTimeout(fieldsTimer)
  }

  function abandon(): void {
    request.unpipe(parser)
    request.pause()
  }
}

/**
 * Validates the fields of a form and returns them. Throws one problem with all violations, including those that the
 * form parser found and a missing file.
 */
function parseFields<Fields>(
  contract: Contract<Fields>,
  fieldTexts: ReadonlyMap<string, string>,
  parserViolations: readonly FieldViolation[],
  hasFile: boolean,
): Fields {
  const checked = createContractChecker(contract)(Object.fromEntries(fieldTexts))
  const isFormComplete = hasFile && parserViolations.length === 0
  if (isFormComplete) {
    if (!('violations' in checked)) return checked.value
    if (checked.onlyTooLarge) throw problems.violated(checked)
  }
  const contractViolations = 'violations' in checked ? checked.violations : []
  if (hasFile) throw problems.malformed([...parserViolations, ...contractViolations.map(requireBeforeFile)])
  const missingFile = {
    pointer: '/file',
    detail: fieldTexts.has('file') ? 'must be a file, with a name' : 'is required',
  }
  throw problems.malformed([...parserViolations, ...contractViolations, missingFile])
}

/**
 * Changes the message about a missing field: it says that the field must precede the file. Only fields before the file
 * have been read, so the field may follow the file.
 */
const requireBeforeFile = ({ pointer, detail }: FieldViolation): FieldViolation => ({
  pointer,
  detail: detail === 'is required' ? 'is required before the file: send all fields before it' : detail,
})

/** Returns a parser for the form of a request. Throws 415 for another media type and for a compressed body. */
function createParser(request: IncomingMessage) {
  const { 'content-type': type, 'content-encoding': encoding } = request.headers
  const wrongType = problems.unsupportedMediaType('multipart/form-data, with the fields before the file')
  if (!type || !/^multipart\/form-data\s*;.*boundary=/i.test(type)) throw wrongType
  if (encoding && encoding !== 'identity')
    throw problems.unsupportedMediaType('multipart/form-data without Content-Encoding')
  try {
    return new Busboy({ headers: request.headers as BusboyHeaders, limits: formLimits })
  } catch {
    throw wrongType
  }
}

/** Returns the file name as one line without folders, or undefined if it is empty. */
function sanitizeFileName(fileName: string | undefined): string | undefined {
  const [name] = (fileName ?? '').split(/[/\\]/).slice(-1)
  return (
    name
      ?.replaceAll(/\p{Cc}/gu, '')
      .trim()
      .slice(0, 255) || undefined
  )
}
