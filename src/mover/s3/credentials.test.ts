import { expect, test } from 'vitest'
import { keysOfEnvironment } from './credentials.ts'

const ENDPOINT = 'https://s3.example.org'
const keysIn = (id: string, secret: string, token?: string) =>
  keysOfEnvironment(
    { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, ...(token !== undefined && { AWS_SESSION_TOKEN: token }) },
    ENDPOINT,
  )

test.each([
  { name: 'a line break at the end', around: (text: string) => `${text}\n` },
  { name: 'a line break of Windows', around: (text: string) => `${text}\r\n` },
  { name: 'a byte order mark', around: (text: string) => `\uFEFF${text}` },
])('keys of a Secret with $name are those without it', async ({ around }) => {
  await expect(keysIn(around('id'), around('secret'), around('token'))?.()).resolves.toEqual({
    accessKeyId: 'id',
    secretAccessKey: 'secret',
    sessionToken: 'token',
  })
})

test('a session token of white space is none', async () => {
  await expect(keysIn('id', 'secret', '\n')?.()).resolves.toEqual({ accessKeyId: 'id', secretAccessKey: 'secret' })
})

test.each([
  ['', ''],
  ['\n', ' '],
])('without both keys there are no credentials: %j, %j', (id, secret) => {
  expect(keysIn(id, secret)).toBeUndefined()
})

test.each([
  ['\n', 'secret', 'AWS_ACCESS_KEY_ID is empty'],
  ['id', '', 'AWS_SECRET_ACCESS_KEY is empty'],
])('one key without the other is an error, and no anonymous access: %j, %j', async (id, secret, says) => {
  await expect(keysIn(id, secret)?.()).rejects.toMatchObject({
    code: 'AccessDenied',
    message: expect.stringContaining(says),
  })
})
