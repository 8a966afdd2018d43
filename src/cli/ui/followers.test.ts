/** Tests how many readers may follow the events. */
import { expect, test } from 'vitest'
import type { Viewer } from './access/viewer.ts'
import { Followers } from './followers.ts'

const reader = (user?: string): Viewer => ({ ...(user !== undefined && { user }), may: async () => true })

function follow(followers: Followers, viewer: Viewer, times: number): (() => void)[] {
  return Array.from({ length: times }, () => {
    expect(followers.rejection(viewer)).toBeUndefined()
    return followers.add(viewer)
  })
}

test('one user does not keep the others away', () => {
  const followers = new Followers()
  const [leave] = follow(followers, reader('eve'), 50)

  expect(followers.rejection(reader('eve'))).toEqual({
    status: 503,
    message: 'eve follows the events 50 times; close some of these tabs',
  })
  follow(followers, reader('bob'), 1)
  leave?.()
  follow(followers, reader('eve'), 1)
})

test('the reader who started the command may open as many tabs as there are in all', () => {
  const followers = new Followers()
  const [leave] = follow(followers, reader(), 200)

  const message = '200 readers follow the events; close one'
  expect(followers.rejection(reader())).toEqual({ status: 503, message })
  expect(followers.rejection(reader('bob'))).toEqual({ status: 503, message })
  leave?.()
  follow(followers, reader('bob'), 1)
})
