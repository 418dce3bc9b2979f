import { parseArgs } from 'node:util'
import { UserError } from '../user-error.ts'

export interface DemoArguments {
  /** Undefined if a health data set is generated. */
  file: string | undefined
  /** The number of generated rows. */
  rows: number
  /** The pipeline's name. */
  name: string | undefined
  help: boolean
}

/** Invalid arguments of the command. The exit code is 2. */
export class UsageError extends UserError {}

export const usage = `npm run demo -- [file] [--rows N] [--name "Name of the pipeline"]

Loads a file (CSV, JSON or Excel) or a generated health data set into the running Sluice, and shows the result.

  file       the file to load, of any size
  --rows N   number of generated rows, without a file (200000)
  --name     the name of the pipeline; an existing pipeline with this name is reused

IDENTITY_URL, PIPELINE_URL                      addresses of the services; default: those of "npm start"
SLUICE_ADMIN_USERNAME, SLUICE_ADMIN_PASSWORD    the user who signs in; default: the administrator of "npm start"`

const maxRows = 100_000_000

/** Parses the arguments of the command. Throws `UsageError`. */
export function parseDemoArguments(args: string[]): DemoArguments {
  const { values, positionals } = parseOptions(args)
  if (positionals.length > 1)
    throw new UsageError(`The demo loads one file, not ${positionals.length}: ${positionals.join(', ')}.`)
  const [file] = positionals
  if (file !== undefined && values.rows !== undefined)
    throw new UsageError('--rows and a file cannot be combined. Remove one of them.')
  const rows = Number(values.rows ?? 200_000)
  if (!Number.isInteger(rows) || rows < 1 || rows > maxRows)
    throw new UsageError(`--rows must be a whole number from 1 to ${maxRows}, not "${values.rows}".`)
  const name = values.name?.trim()
  if (name !== undefined && (name === '' || name.length > 255))
    throw new UsageError('--name must have 1 to 255 characters.')
  return { file, rows, name, help: values.help ?? false }
}

function parseOptions(args: string[]) {
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
