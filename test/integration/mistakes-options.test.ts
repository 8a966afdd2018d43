/** Mistakes with options: without a value, with an empty one, twice, of kubectl, and beside the wrong command. */
import { describe, test } from 'vitest'
import { checkMistake, type Mistake } from './mistakes.ts'

describe('an option without its value', () => {
  test.each<Mistake>([
    {
      lodestone: 'explain deployment/trainer -n --folder @hub',
      says: '--namespace needs a value: --namespace=NAMESPACE',
    },
    { lodestone: 'status -o --folder @hub', says: '--output needs a value: --output=FORMAT' },
    { lodestone: 'check -f @hub --fail-on', says: '--fail-on needs a value: --fail-on=LEVEL' },
    { lodestone: 'check-install --wait -1s', says: '--wait needs a value: --wait=DURATION' },
    { lodestone: 'test --update=yes @hub', says: '--update takes no value' },
    { lodestone: 'status --watch=5s --folder @hub', says: '--watch takes no value' },
  ])('$lodestone', checkMistake)
})

describe('an empty value, as of a variable that is not set', () => {
  const empty = (option: string, value: string) =>
    `--${option} has an empty value; write --${option}=${value}, or omit the option`
  test.each<Mistake>([
    { lodestone: 'status -n= --folder @hub', says: empty('namespace', 'NAMESPACE') },
    { lodestone: 'check -f=', says: empty('file', 'FILE') },
    { lodestone: 'check -f @hub -f=', says: empty('file', 'FILE') },
    { lodestone: 'check ', says: 'an argument is empty; remove it, or give its value' },
    { lodestone: 'test ', says: 'an argument is empty; remove it, or give its value' },
    { lodestone: 'serve --log-level=', says: empty('log-level', 'LEVEL') },
  ])('$lodestone', checkMistake)
})

describe('an option of kubectl that the command does not have', () => {
  test.each<Mistake>([
    { lodestone: 'explain -f @hub', says: 'unknown option -f' },
    { lodestone: 'explain deployment/trainer -A --folder @hub', says: 'unknown option -A' },
    { lodestone: 'status -l app=trainer --folder @hub', says: 'unknown option -l' },
    { lodestone: 'check -k @hub', says: 'unknown option -k' },
    { lodestone: 'check -f @hub --dry-run=server', says: 'unknown option --dry-run' },
    {
      lodestone: 'status -n demo -A --folder @hub',
      says: '-n and -A exclude each other; omit -n to show all namespaces',
    },
  ])('$lodestone', checkMistake)
})

describe('a value that the option does not take', () => {
  test.each<Mistake>([
    { lodestone: 'serve --port 0x24E3', says: '--port takes a port from 0 to 65535, not 0x24E3' },
    { lodestone: 'serve --port 1.5', says: '--port takes a port from 0 to 65535, not 1.5' },
    { lodestone: 'check -f @hub --folder @shopping.txt', says: '@shopping.txt is not a folder' },
    { lodestone: 'check -f @hub --config @hub', says: '@hub: is a directory, not a file' },
    { lodestone: 'explain deployment/trainer --kubeconfig @hub', says: 'kubeconfig @hub: is a directory, not a file' },
    { lodestone: 'status --system amro --folder @hub', status: 1, says: 'no data system amro (did you mean amoro?)' },
  ])('$lodestone', checkMistake)
})

describe('words in the wrong place', () => {
  test.each<Mistake>([
    {
      lodestone: 'explain deployment/trainer -- --folder @hub',
      says: 'expected KIND/NAME or KIND NAME, e.g. deployment/trainer, not deployment/trainer --folder @hub',
    },
    {
      lodestone: 'explain deployment.v2.apps/trainer --folder @hub',
      says: 'unknown kind deployment.v2.apps (known: deployment.v1.apps); write another kind with its version and group, e.g. RayJob.v1.ray.io',
    },
    {
      lodestone: 'explain node/worker --folder @hub',
      says: 'explain has no decision about a Node; use kubectl describe nodes',
    },
    { lodestone: 'completion bash zsh', says: 'expected one of bash, zsh, fish, not bash zsh' },
    { lodestone: 'version x', says: 'unexpected argument x' },
    { lodestone: 'serve --folder @hub extra', says: 'unexpected argument extra' },
  ])('$lodestone', checkMistake)
})
