export const BOARD_PATH = '/admin/queues';
