import { SourceProblem } from '@sluice/row-stream'

export interface JsonPosition {
  line: number
  byte: number
}

export const brokenJson = (name: string, fault: string, { line, byte }: JsonPosition): SourceProblem =>
  new SourceProblem('JSON_BROKEN', `${name} is not valid JSON: ${fault} (line ${line}, byte ${byte} of the text).`)

export const endsTooEarly = (name: string, { line, byte }: JsonPosition): SourceProblem =>
  new SourceProblem(
    'JSON_BROKEN',
    `${name} ends in the middle of a value (line ${line}, byte ${byte} of the text); upload it again, whole.`,
  )

export const tooLong = (name: string, bytes: number, { line }: JsonPosition): SourceProblem =>
  new SourceProblem(
    'RECORD_TOO_LONG',
    `${name} has a value in line ${line} that is longer than ${size(bytes)}; the objects of an array are read one by one, each up to that length.`,
  )

export const size = (bytes: number): string =>
  bytes >= 1024 * 1024 ? `${Math.floor(bytes / 1024 / 1024)} MB` : `${bytes} bytes`
