import { EventEmitter } from 'node:events'
import { expect, it } from '@jest/globals'
import type { Connection } from 'pg'
import { errorResponse, message, ready } from '../../../test/postgres-messages.ts'
import { CopyText } from './copy-to-stdout.ts'

it('passes all bytes after an error of the server to the driver, if a message is split', async () => {
  const stream = new EventEmitter()
  const copy = new CopyText('copy t to stdout', { endsWithCrLf: false })
  const failure = new Error('division by zero')
  const error = errorResponse('22012', failure.message)
  const driverBytes: Buffer[] = []
  stream.on('data', (bytes: Buffer) => {
    driverBytes.push(bytes)
    if (bytes.equals(error)) copy.handleError(failure)
  })
  copy.submit({ stream, query() {} } as unknown as Connection)
  stream.emit('data', Buffer.concat([message('d', '1\n'), error, ready.subarray(0, 3)]))
  stream.emit('data', ready.subarray(3))
  expect(Buffer.concat(driverBytes)).toEqual(Buffer.concat([error, ready]))
  expect(String(await copy.next())).toBe('1\n')
  await expect(copy.next()).rejects.toBe(failure)
})
