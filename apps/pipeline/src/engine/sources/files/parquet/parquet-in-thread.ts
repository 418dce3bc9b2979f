import { SourceProblem } from '../../source.ts'
import { ReadingThread } from '../../reading-thread.ts'
import { suspendSpareThreads } from '../../spare-thread.ts'
import type { Command, Job, Message } from './protocol.ts'

/** What one thread may have for objects; pages and chunks are outside of it and bounded by `limits`. */
const resourceLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 2 }

/** Begins to read a file. Bytes that were made to keep a decoder busy for years are given up after a while. */
export function startReading(job: Job, signal: AbortSignal): ReadingThread<Message, Command> {
  const { fileName, limits } = job
  const milliseconds = limits.silence
  const stuck = `${fileName} could not be read any further: nothing came of it for ${milliseconds / 1000} seconds. Have it written anew.`
  const dense = `${fileName} needs more memory than a file may take. Write it with smaller row groups or fewer columns.`
  const reader = {
    program: new URL('./parquet-thread.ts', import.meta.url),
    name: 'parquet',
    job,
    reading: fileName,
    resourceLimits,
    tooDense: new SourceProblem('FILE_TOO_DENSE', dense),
    silence: { milliseconds, problem: new SourceProblem('FILE_DAMAGED', stuck) },
  }
  const thread = new ReadingThread<Message, Command>(reader, signal)
  suspendSpareThreads(thread.ended)
  return thread
}
