import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { goodPassword, startService, userBody, type Service } from '../app-under-test.ts'

let service: Service
let admin: Awaited<ReturnType<Service['as']>>
beforeAll(async () => {
  service = await startService({ ADMIN_SETS_PASSWORDS: true })
  admin = await service.as(['ROLE_MANAGE_USER'])
})
afterAll(() => service.stop())

const create = (username: string, password = goodPassword) =>
  admin.post('/users').send(userBody({ username, password }))

it.each([
  ['case', 'Administrator', 'ADMINISTRATOR'],
  ['width', 'treasurer', 'ｔｒｅａｓｕｒｅｒ'],
  ['composition', 'éloïse', 'e\u0301loi\u0308se'],
  ['a ligature', 'fiona', 'ﬁona'],
  ['a Turkish letter', 'istanbul', 'İSTANBUL'],
  ['sharp s', 'strasse', 'STRAßE'],
  ['letters of another script', 'coco', 'сосо'],
  ['a hyphen', 'jean-luc', 'jean\u2010luc'],
  ['an apostrophe', "o'neill", 'o\u02bcneill'],
  ['letters like capitals', 'solo', 'ꓢꓳꓡꓳ'],
])('a username that differs only by %s counts as taken', async (_what, first, second) => {
  await create(first).expect(201)
  const { body } = await create(second).expect(409)
  expect(body.errors).toEqual([{ pointer: '/username', detail: expect.stringContaining('taken') }])
})

it.each([
  ['Cyrillic and Latin letters', 'аccountant'],
  ['a zero-width space', 'account\u200bant'],
  ['small capitals', 'ᴀᴄᴄᴏᴜɴᴛᴀɴᴛ'],
  ['click letters', 'ǀuǀu'],
  ['a right-to-left mark', 'accountant\u200f'],
])('a username with %s is refused', async (_what, username) => {
  const { body } = await create(username).expect(422)
  expect(body.errors[0].pointer).toBe('/username')
})

it('a user signs in with another case or composition of the username, whose stored spelling is kept', async () => {
  const { body } = await create('Ñandú').expect(201)
  expect(body.username).toBe('Ñandú')
  const tokens = await service.signIn('n\u0303ANDU\u0301')
  expect((await service.withToken(tokens.accessToken).get('/users/me')).body.username).toBe('Ñandú')
})

it('a password is compared byte by byte, without normalising case, composition or spaces', async () => {
  const password = 'Caf\u00e9 de la Paix 1998'
  const { body } = await create('patron', password).expect(201)
  const login = (given: string) =>
    service.http.post('/api/v1/auth/login').send({ username: body.username, password: given })
  await login('Cafe\u0301 de la Paix 1998').expect(401)
  await login(password.toLowerCase()).expect(401)
  await login(` ${password}`).expect(401)
  await login(password).expect(200)
})
