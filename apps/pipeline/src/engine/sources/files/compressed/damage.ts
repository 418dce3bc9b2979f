import { SourceProblem } from '../../source.ts'

/** The problem that an error of the decompressor stands for, after so many bytes that came out well; undefined for any other error. */
export function damage(cause: unknown, name: string, unpacked: number): SourceProblem | undefined {
  const { code, message } = cause as NodeJS.ErrnoException
  if (code !== 'Z_DATA_ERROR' && code !== 'Z_BUF_ERROR') return undefined
  return damaged(name, why(code, message, unpacked), cause)
}

export const damaged = (name: string, what: string, cause?: unknown): SourceProblem =>
  new SourceProblem('ARCHIVE_DAMAGED', `${name} ${what}.`, { cause })

function why(code: string, message: string, unpacked: number): string {
  const where = unpacked === 0 ? 'at its start' : `after ${unpacked} unpacked bytes`
  if (code === 'Z_BUF_ERROR') return `ends too early, ${where}; upload it again, whole`
  if (message !== 'incorrect header check') return `is damaged ${where} (${message}); upload it again`
  return 'is damaged: it holds something that is not gzip at its start or behind its end; compress it anew'
}
