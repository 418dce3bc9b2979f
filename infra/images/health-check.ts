/**
 * The health check of the containers. Prints the response of HEALTH_URL, which `docker inspect` shows. The exit code is
 * 0 for a status below 300, otherwise 1.
 */
import { get } from 'node:http'

const request = get(process.env['HEALTH_URL'] ?? '', { timeout: 4000 }, (response) => {
  if ((response.statusCode ?? 500) >= 300) process.exitCode = 1
  response.pipe(process.stdout)
})

request.on('timeout', () => request.destroy(new Error('no response within 4 s')))
request.on('error', (error) => {
  console.log(error.message)
  process.exitCode = 1
})
