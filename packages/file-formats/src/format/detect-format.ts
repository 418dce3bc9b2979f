import { SourceProblem } from '@sluice/row-stream'
import { textEncoding, type TextEncoding } from '../encodings/text-encoding.ts'

export type FileContent = { kind: 'PARQUET' | 'GZIP' | 'ZIP' } | ({ kind: 'JSON' | 'TEXT' } & TextEncoding)

export const detectionBytes = 64 * 1024

const uploadAdvice = 'upload CSV, JSON, Excel (.xlsx) or Parquet, or one of these in gzip or ZIP'

/** File types that users upload by mistake, by their first bytes in Latin-1. */
const unsupportedSignatures: readonly [string, string][] = [
  ['%PDF-', 'a PDF document'],
  ['7z\xbc\xaf\x27\x1c', 'a 7z archive'],
  ['Rar!\x1a\x07', 'a RAR archive'],
  ['BZh91AY&SY', 'compressed with bzip2'],
  ['\xfd7zXZ\0', 'compressed with xz'],
  ['\x28\xb5\x2f\xfd', 'compressed with zstd'],
  ['\x89PNG\r\n', 'a picture'],
  ['\xff\xd8\xff', 'a picture'],
  ['GIF89a', 'a picture'],
  ['SQLite format 3\0', 'an SQLite database'],
  ['Obj\x01', 'an Avro file'],
  ['ARROW1\0', 'an Arrow file'],
  ['{\\rtf', 'an RTF document'],
]
/** The position of the word `ustar` in a tar archive. */
const tarSignaturePosition = 257
/** The start of Microsoft's older container format, in Latin-1. */
const compoundFileSignature = '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'

/**
 * Detects the type of an upload from its first bytes `start`, never from its name. `declaredEncoding` applies to text
 * without a byte order mark. Throws SourceProblem NOT_SUPPORTED, OLD_EXCEL, EXCEL_PROTECTED or the errors of
 * `textEncoding`.
 */
export function detectFormat(start: Buffer, name: string, declaredEncoding?: string): FileContent {
  const head = start.subarray(0, 512).toString('latin1')
  if (isParquet(head)) return { kind: 'PARQUET' }
  if (isPacked(start)) return { kind: head.startsWith('PK') ? 'ZIP' : 'GZIP' }
  if (head.startsWith(compoundFileSignature)) throw compoundFileProblem(start, name)
  const unsupportedType = findUnsupportedType(head)
  if (unsupportedType) throw new SourceProblem('NOT_SUPPORTED', `${name} is ${unsupportedType}; ${uploadAdvice}.`)
  const encoding = textEncoding(start, declaredEncoding, name)
  const text = new TextDecoder(encoding.encoding).decode(start.subarray(encoding.skip, encoding.skip + 4096))
  if (/^\s*<(!doctype|html|\?xml)/i.test(text)) {
    throw new SourceProblem('NOT_SUPPORTED', `${name} is a web page or another XML document; ${uploadAdvice}.`)
  }
  const isJson = jsonStarts.some((pattern) => pattern.test(text))
  return { kind: isJson ? 'JSON' : 'TEXT', ...encoding }
}

/** The starts of JSON texts: an object, perhaps in arrays, such as `[{"a"`; an array in an array; an empty array. */
const jsonStarts = [/^\s*(\[\s*)*\{\s*["}]/, /^\s*\[\s*\[\s*["\d[-]/, /^\s*\[\s*\]\s*$/]

/**
 * Returns the type of a file that cannot be uploaded, as the end of a sentence, or undefined if it is not one of these.
 */
function findUnsupportedType(head: string): string | undefined {
  if (head.startsWith('ustar', tarSignaturePosition)) return 'a tar archive'
  return unsupportedSignatures.find(([signature]) => head.startsWith(signature))?.[1]
}

/** The first bytes of gzip, of ZIP and of an empty ZIP archive, in Latin-1. */
const archiveSignatures = ['\x1f\x8b', 'PK\x03\x04', 'PK\x05\x06']

/** True if a file that starts with `start` is gzip or ZIP. Four bytes suffice. */
export function isPacked(start: Buffer): boolean {
  const head = start.toString('latin1', 0, 4)
  return archiveSignatures.some((signature) => head.startsWith(signature))
}

/**
 * True if a file starts like Parquet: with `PAR1`, and a control character follows or the file is very short. A CSV
 * header can also start with `PAR1`.
 */
function isParquet(head: string): boolean {
  const hasControlCharacter = [...head].some((character) => character < '\t')
  return head.startsWith('PAR1') && (head.length < 12 || hasControlCharacter)
}

/**
 * Returns the problem for a file in Microsoft's older container format: EXCEL_PROTECTED for a workbook with a password,
 * otherwise OLD_EXCEL.
 */
function compoundFileProblem(start: Buffer, name: string): SourceProblem {
  if (start.includes(Buffer.from('EncryptedPackage', 'utf16le'))) return protectedWorkbookProblem(name)
  const text = `${name} is an Excel workbook in the format before 2007 (.xls), or another old document of Microsoft Office; save it as .xlsx and upload that file. If it is protected with a password, remove the password first.`
  return new SourceProblem('OLD_EXCEL', text)
}

const protectedWorkbookProblem = (name: string) =>
  new SourceProblem('EXCEL_PROTECTED', `${name} is protected with a password; save it without one and upload it again.`)

/** The format that a pipeline reads. All formats except Parquet are converted to delimited text. */
export type UploadFormat = 'DELIMITED' | 'PARQUET'

/** Throws SourceProblem PARQUET_UPLOADED or NOT_PARQUET if the format is not the expected one. */
export function assertFormat(format: UploadFormat, expectedFormat: UploadFormat | undefined, name: string): void {
  if (expectedFormat === undefined || expectedFormat === format) return
  if (format === 'PARQUET') {
    const text = `${name} is a Parquet file: create a PARQUET_UPLOAD pipeline for it, or save it as CSV.`
    throw new SourceProblem('PARQUET_UPLOADED', text)
  }
  const text = `${name} is not a Parquet file. Upload a Parquet file, or use a pipeline for the format of this file.`
  throw new SourceProblem('NOT_PARQUET', text)
}
