import { SourceProblem } from '../../source.ts'
import type { ZipArchive } from '../compressed/zip-archive.ts'
import type { Output } from '../spool/output.ts'
import type { Job } from '../spool/protocol.ts'
import type { WrittenDialect } from '../upload.ts'
export async function writeSheet(
  _a: ZipArchive,
  _o: Output,
  _j: Job,
): Promise<{ sheet: string; dialect: WrittenDialect }> {
  throw new Error('later')
}
