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
const tarMark = 257

/**
 * Detects the type of an upload from its first bytes `start`, never from its name. Throws SourceProblem NOT_SUPPORTED,
 * OLD_EXCEL, EXCEL_PROTECTED or the errors of `textEncoding`.
 */
export function detectFormat(start: Buffer, name: string, declared?: string): FileContent {
  const head = start.subarray(0, 512).toString('latin1')
  if (isParquet(head)) return { kind: 'PARQUET' }
  if (isPacked(start)) return { kind: head.startsWith('PK') ? 'ZIP' : 'GZIP' }
  if (head.startsWith('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1')) throw compoundFileProblem(start, name)
  const mistake = head.startsWith('ustar', tarMark)
    ? 'a tar archive'
    : unsupportedSignatures.find(([magic]) => head.startsWith(magic))?.[1]
  if (mistake) throw new SourceProblem('NOT_SUPPORTED', `${name} is ${mistake}; ${uploadAdvice}.`)
  const encoding = textEncoding(start, declared, name)
  const text = new TextDecoder(encoding.encoding).decode(start.subarray(encoding.skip, encoding.skip + 4096))
  if (/^\s*<(!doctype|html|\?xml)/i.test(text)) {
    throw new SourceProblem('NOT_SUPPORTED', `${name} is a web page or another XML document; ${uploadAdvice}.`)
  }
  const isJson = /^\s*(\[\s*)*\{\s*["}]|^\s*\[\s*\[\s*["\d[-]|^\s*\[\s*\]\s*$/.test(text)
  return { kind: isJson ? 'JSON' : 'TEXT', ...encoding }
}

const archiveSignatures = ['\x1f\x8b', 'PK\x03\x04', 'PK\x05\x06']

/** True if a file that starts with `start` is gzip or ZIP. Four bytes suffice. */
export function isPacked(start: Buffer): boolean {
  const head = start.toString('latin1', 0, 4)
  return archiveSignatures.some((magic) => head.startsWith(magic))
}

/**
 * True if a file starts like Parquet: with `PAR1` and then bytes that are not text. A CSV header can also start with
 * `PAR1`.
 */
function isParquet(head: string): boolean {
  return head.startsWith('PAR1') && (head.length < 12 || [...head].some((character) => character < '\t'))
}

/**
 * Returns the problem for a file in Microsoft's older container format: a workbook with a password, or one from before
 * 2007.
 */
function compoundFileProblem(start: Buffer, name: string): SourceProblem {
  if (start.includes(Buffer.from('EncryptedPackage', 'utf16le'))) return isProtected(name)
  const text = `${name} is an Excel workbook in the format before 2007 (.xls), or another old document of Microsoft Office; save it as .xlsx and upload that file. If it is protected with a password, remove the password first.`
  return new SourceProblem('OLD_EXCEL', text)
}

const isProtected = (name: string) =>
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
