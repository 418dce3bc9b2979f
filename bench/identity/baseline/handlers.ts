import express from 'express'
import pg from 'pg'
import { verifyPassword } from '../../../apps/identity/src/sign-in/password/password-hashing.ts'

/**
 * A minimal server with the same responses: Express and pg, one statement per request, without validation,
 * authorization, logs and audit. The difference between the service and this server is the cost of the service beyond
 * its data access.
 */

const { DATABASE_URL: connectionString, PORT: port } = process.env
const pool = new pg.Pool({ connectionString, max: 10 })
const app = express()

app.get('/session', async (request, response) => {
  const [, payload = ''] = (request.headers.authorization ?? '').split('.')
  const { sub, sid } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { sub: string; sid: string }
  const { rows } = await pool.query(
    `select u.*, row_to_json(c) as client, s.roles_at_issue, s.ended_at, s.expires_at, own.disabled,
       made.username as made_by, changed.username as changed_by,
       array(select json_build_object('id', g.uid, 'client', g.client, 'name', g.name, 'code', g.code)
         from user_group_members m join user_groups g on g.id = m.user_group_id where m.user_id = u.id order by g.id) as groups,
       not exists (
         select from sessions e where e.user_id = u.id and (e.ended_at is not null or e.expires_at < now())) as intro
     from users u
     join sessions s on s.user_id = u.id and s.uid = $2
     join clients c on c.uid = s.client
     join clients own on own.uid = u.client
     left join users made on made.uid = u.created_by
     left join users changed on changed.uid = u.updated_by
     where u.uid = $1`,
    [sub, sid],
  )
  response.json(rows[0])
})

app.post('/users', express.json(), async (request, response) => {
  const { client, name, username, email } = request.body as Record<string, string>
  const { rows } = await pool.query(
    `insert into users (client, name, username, username_skeleton, email, sso_auth, status, start_page)
     values ($1, $2, $3, $3, $4, false, 'INVITATION', 'DEFAULT') returning *`,
    [client, name, username, email],
  )
  response.status(201).json(rows[0])
})

/** Verifies the password as the service does, but without throttle, session and tokens. */
app.post('/login', express.json(), async (request, response) => {
  const { username, password } = request.body as Record<string, string>
  const { rows } = await pool.query('select * from users where username = $1', [username])
  const right = await verifyPassword(password!, rows[0]?.password_hash)
  response.status(right ? 200 : 401).json({ right })
})

app.listen(Number(port), '127.0.0.1')
