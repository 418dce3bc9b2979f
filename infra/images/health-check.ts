/**
 * The health check of the containers: prints the response of HEALTH_URL, which `docker inspect` shows. Exit code 0 only
 * for a 2xx.
 */
import { get } from 'node:http'

const request = get(process.env['HEALTH_URL'] ?? '', { timeout: 4000 }, (response) => {
  if ((response.statusCode ?? 500) >= 300) process.exitCode = 1
  response.pipe(process.stdout)
})

request.on('timeout', () => request.destroy(new Error('no answer within 4 s')))
request.on('error', (error) => {
  console.log(error.message)
  process.exitCode = 1
})
