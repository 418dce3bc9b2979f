import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll } from '@jest/globals'
import type { Person } from '../join-shared-identity-service.ts'
import { startService, type Asking, type Service } from './app-under-test.ts'

/** What files may be large, in bytes. */
export const limit = 1_000_000
export const rows = 'Country,People in 2026\nKE,57000000\nCD,112000000\n'
export const newKey = () => `people_${randomBytes(4).toString('hex')}`
export const pointers = (body: any): string[] => body.errors.map(({ pointer }: { pointer: string }) => pointer)

const roles = ['ROLE_MANAGE_SCHEMA', 'ROLE_MANAGE_DATA_PIPELINE', 'ROLE_MANAGE_PUBLIC_DATASET_CATALOG'] as const

/** A service for all tests of a file, and two who keep public datasets there, each of an organisation of their own. */
export function librarians() {
  let service: Service
  let people: [Person, Person]
  beforeAll(async () => {
    service = await startService({ uploadLimit: limit })
    const { identity } = service
    const person = async () =>
      identity.person((await identity.client({ domain: 'PUBLIC_DATASET_CATALOG' })).id, [...roles])
    people = await Promise.all([person(), person()])
  })
  afterAll(() => service?.stop())
  return {
    get service(): Service {
      return service
    },
    get token(): string {
      return people[0].token
    },
    get owner(): Asking {
      return service.as(people[0])
    },
    get stranger(): Asking {
      return service.as(people[1])
    },
  }
}
