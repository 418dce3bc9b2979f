import { parseArgs } from 'node:util'
import { UserError } from '../user-error.ts'

export interface DemoArguments {
  /** Undefined: a health data set is made. */
  file: string | undefined
  /** Rows to make. */
  rows: number
  /** The pipeline's name. */
  name: string | undefined
  help: boolean
}

/** The command was written wrong: exit code 2. */
export class UsageError extends UserError {}

export const usage = `npm run demo -- [file] [--rows N] [--name "Name of the pipeline"]

Loads a file (CSV, JSON or Excel), or a health data set made for the occasion, into the Sluice that is running, and shows what became of it.

  file       the file to load, of any size
  --rows N   rows to make where no file is given (200000)
  --name     what the pipeline is called; one of that name is used again

IDENTITY_URL, PIPELINE_URL                      where the services are, when not started here by "npm start"
SLUICE_ADMIN_USERNAME, SLUICE_ADMIN_PASSWORD    who signs in, when not the administrator that "npm start" made`

const maxRows = 100_000_000

/** Throws `UsageError` with a sentence. */
export function parseDemoArguments(given: string[]): DemoArguments {
  const { values, positionals } = parsed(given)
  if (positionals.length > 1)
    throw new UsageError(`One file at a time, not ${positionals.length}: ${positionals.join(', ')}.`)
  const [file] = positionals
  if (file !== undefined && values.rows !== undefined)
    throw new UsageError('--rows is for the data set that is made here: leave it out, or the file.')
  const rows = Number(values.rows ?? 200_000)
  if (!Number.isInteger(rows) || rows < 1 || rows > maxRows)
    throw new UsageError(`--rows must be a whole number from 1 to ${maxRows}, not "${values.rows}".`)
  const name = values.name?.trim()
  if (name !== undefined && (name === '' || name.length > 255))
    throw new UsageError('--name must have 1 to 255 characters.')
  return { file, rows, name, help: values.help ?? false }
}

function parsed(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        rows: { type: 'string' },
        name: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    })
  } catch (error) {
    const [first = ''] = (error as Error).message.split('. ')
    throw new UsageError(`${first}. Try "npm run demo -- --help".`)
  }
}
