-- How rare a piece of text is decides between the index of pieces and a walk along the order of names. A hundred samples take
-- one in a thousand rows for one in a hundred whenever it is among them, and walk all of a large client for it.
alter index data_pipelines_search alter column 1 set statistics 1000;
analyze data_pipelines;
