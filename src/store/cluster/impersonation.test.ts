import { expect, test } from 'vitest'
import { impersonationHeaders } from './impersonation.ts'

test.each([
  { user: {}, want: {} },
  { user: { as: '', 'as-groups': ['sales'] }, want: {} },
  { user: { as: 'jane' }, want: { 'impersonate-user': ['jane'] } },
  {
    user: { as: 'jane', 'as-uid': '7', 'as-groups': ['sales', 'eu'] },
    want: { 'impersonate-user': ['jane'], 'impersonate-uid': ['7'], 'impersonate-group': ['sales', 'eu'] },
  },
  {
    user: { as: 'jane', 'as-user-extra': { 'example.org/scopes%ü': ['view', 'list'] } },
    want: { 'impersonate-user': ['jane'], 'impersonate-extra-example.org%2Fscopes%25%C3%BC': ['view', 'list'] },
  },
])('requests of $user have the headers of client-go', ({ user, want }) => {
  expect(impersonationHeaders(user)).toEqual(want)
})
