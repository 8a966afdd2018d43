// Whether long scenarios run in full, as `npm run e2e:full` does; every other run has a shorter form of them.
export const isFull = process.env['LODESTONE_E2E_FULL'] === '1'
