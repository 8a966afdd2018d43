import { expect, test } from 'vitest'
import { serverName } from './server-name.ts'

test('a name has no final dot, and an address is no name', () => {
  expect(['hub.example.org', 'hub.example.org.', 'localhost'].map(serverName)).toEqual([
    'hub.example.org',
    'hub.example.org',
    'localhost',
  ])
  expect(['10.0.0.7', 'fd00::7', '[fd00::7]'].map(serverName)).toEqual([undefined, undefined, undefined])
})
