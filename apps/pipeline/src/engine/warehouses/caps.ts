import { WarehouseProblem } from './warehouse.ts'

/** The whole number that was asked for, where it is one that may be had; `usual` where none was. */
export function within(asked: number | undefined, most: number, usual: number): number {
  return asked === undefined ? usual : Math.min(most, Math.max(0, Math.trunc(asked)))
}

export function rowTooLarge(bytes: number): WarehouseProblem {
  const most = `${Math.round(bytes / 1024 / 1024)} MB`
  return new WarehouseProblem('ROW_TOO_LARGE', `One row is larger than ${most}, the most that is shown.`)
}
