import { schemaBody, type Service } from './app-under-test.ts'

/** A client that was deleted after it made a schema; answers its uid. */
export async function deletedClient(service: Service): Promise<string> {
  const client = await service.identity.client()
  const person = await service.identity.person(client.id, ['ROLE_MANAGE_SCHEMA'])
  await service.as(person).post('/schemas').send(schemaBody()).expect(201)
  await service.identity.deleteClient(client, [person])
  return client.id
}
