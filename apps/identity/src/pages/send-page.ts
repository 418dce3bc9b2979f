import type { Response } from 'express'
import { pageHeaders } from './page-policy.ts'

interface Sending {
  /** As `pageHeaders` takes it. */
  formAction?: readonly string[]
}

/** Sends a page of ours, with the headers of all of them. */
export function sendPage(response: Response, status: number, page: string, { formAction }: Sending = {}): void {
  response.status(status).set(pageHeaders(formAction)).type('html').send(page)
}
